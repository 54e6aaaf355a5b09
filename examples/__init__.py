"""Small Django apps that use `jobs_app` as projects do: first steps, and five systems that ran jobs before it."""
