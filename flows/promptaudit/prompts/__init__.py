"""What a model is sent: templates, messages, kinds of variation, rephrasers."""
