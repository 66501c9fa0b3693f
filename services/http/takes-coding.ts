/** Whether a client takes a response in this coding, by its `accept-encoding`. Source: RFC 9110, 12.5.3. */
export function takesCoding (accepted: string | string[] | undefined, coding: string): boolean {
  return String(accepted ?? '').split(',').some(part => {
    const [name = '', weight = ''] = part.split(';').map(piece => piece.trim().toLowerCase())
    return name === coding && !/^q=0(\.0*)?$/.test(weight)
  })
}
