"""A control plane for jobs that are defined in code: new members get an e-mail, each one once."""
