"""What the services need from the world, in the project's own words, and how it can fail."""
