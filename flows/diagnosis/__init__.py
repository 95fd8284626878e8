"""What `promptaudit diagnose` looks at: samples, groups of samples, confused labels, formats; and how it says so."""
