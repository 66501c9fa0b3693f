/** Options that make this Node look old: like Node 20, and like Node 22, which can replace its process. */
export const oldNodes: string[][] = ['20.1.0', '22.21.0'].map(version => {
  const replaces = version.startsWith('20') ? 'process.execve = undefined' : ''
  const versions = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`
  return ['--import', `data:text/javascript,${versions};${replaces}`]
})
