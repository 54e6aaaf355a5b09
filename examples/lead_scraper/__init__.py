"""Lead scraper: searches that workers on other hosts pull over HTTP, and go on with where the last one was."""
