"""What several commands share: flags, specifications, output; no command lies here."""
