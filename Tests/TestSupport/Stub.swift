// Factories and generators for tests.
