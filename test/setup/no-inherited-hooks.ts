// Loaded before the tests. Tap adds its hooks for modules to NODE_OPTIONS, by which threads and processes of
// tests load them, too: 30 ms of processor time for each thread, and each database in a file has one.

delete process.env['NODE_OPTIONS']
