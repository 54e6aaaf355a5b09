"""What worker and scheduler processes have in common: who they are, how they loop, how they stop."""
