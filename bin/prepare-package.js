// npm runs `prepare` for a git dependency, but not `prepack`: builds there what the package has. Plain
// JavaScript without the project's own Node, because it runs at the end of every `npm ci`.

// Set by npm while it prepares a git dependency (npm's package `pacote`, lib/git.js).
if (process.env._PACOTE_NO_PREPARE_) {
  const { spawnSync } = await import('node:child_process')
  const args = ['bin/node.js', 'tools/build-package.ts']
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
}
