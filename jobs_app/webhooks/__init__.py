"""Telling other systems how runs ended: a signed request for each, sent by a job."""
