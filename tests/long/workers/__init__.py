"""Workers in processes of their own, which race, freeze and die, with the service's ledger as the judge."""
