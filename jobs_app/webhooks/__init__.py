"""Telling other systems how runs ended: a signed request for each, or for many that failed, sent by a job."""
