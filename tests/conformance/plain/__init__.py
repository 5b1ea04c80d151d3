"""What pipelines mean, written only from docs/; it shares nothing with leat. About one module per page of the documentation."""
