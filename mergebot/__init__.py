"""mergebot: a merge queue that lands exactly the commit it tested."""
