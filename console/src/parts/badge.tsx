import type { ComponentChildren, JSX } from 'preact'

export type Tone = 'good' | 'bad' | 'warn' | 'quiet'

/** A short word with the colour of what it means. */
export function Badge ({ tone, children }: { tone: Tone, children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>
}
