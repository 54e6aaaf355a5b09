"""Workers on other hosts: they pull one job, report how it goes, and are told what anybody wants of it."""
