"""Cases, records, grids, and the runner that fills a store."""
