"""Made by the site itself."""
