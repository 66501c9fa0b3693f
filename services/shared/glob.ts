/** Compiles a glob in which `*` stands for any text, slashes included. Tests take time linear in the text. */
export function compileGlob (glob: string): (text: string) => boolean {
  const [head = '', ...rest] = glob.split('*')
  const tail = rest.pop()
  if (tail === undefined) return (text) => text === glob
  return (text) => {
    if (!text.startsWith(head) || !text.endsWith(tail)) return false
    const end = text.length - tail.length
    let position = head.length
    for (const part of rest) {
      const found = text.indexOf(part, position)
      if (found === -1) return false
      position = found + part.length
    }
    return position <= end
  }
}
