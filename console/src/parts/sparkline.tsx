import type { JSX } from 'preact'

const width = 600
const height = 60

/** A small line of values, the newest at the right. */
export function Sparkline ({ label, values }: { label: string, values: readonly number[] }): JSX.Element {
  const most = Math.max(...values, 0.1)
  // The first value alone is a line too.
  const points = [...values.slice(0, 1), ...values].map((value, index) => `${width - (values.length - index) * width / 60},${height - 2 - value / most * (height - 6)}`)
  return (
    <figure>
      <svg class='sparkline' viewBox={`0 0 ${width} ${height}`} preserveAspectRatio='none' role='img' aria-label={`${label}, at most ${most.toFixed(2)}`}>
        <polyline points={points.join(' ')} />
      </svg>
      <figcaption>Since this page was opened, at most {most.toFixed(2)}</figcaption>
    </figure>
  )
}
