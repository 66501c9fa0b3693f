/** A text made once for each object, which must not change: the same text again is found faster in a map. */
export function rememberedText<Of extends object> (textOf: (of: Of) => string): (of: Of) => string {
  const texts = new WeakMap<Of, string>()
  return of => {
    const known = texts.get(of)
    if (known !== undefined) return known
    const text = textOf(of)
    texts.set(of, text)
    return text
  }
}
