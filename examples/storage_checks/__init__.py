"""Checks of storage providers at a rate per hour: data is stored with them and fetched, one job at a time for each."""
