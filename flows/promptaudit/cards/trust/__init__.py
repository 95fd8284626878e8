"""Who may be asked, and which keys they may be given."""
