"""Lead scraper."""
