"""What pipelines mean, written from docs/ alone; it shares nothing with leat. One module a page of the documentation, more or less."""
