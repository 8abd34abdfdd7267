"""Pictures of results. Only this room imports matplotlib (extra `report`)."""
