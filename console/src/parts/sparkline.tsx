import type { JSX } from 'preact'

const width = 600
const height = 60

/** A small line of values, the newest at the right. */
export function Sparkline ({ label, values }: { label: string, values: readonly number[] }): JSX.Element {
  const most = Math.max(...values, 0.1)
  const points = values.map((value, index) => `${width - (values.length - 1 - index) * width / 59},${height - 2 - value / most * (height - 6)}`)
  return (
    <svg class='sparkline' viewBox={`0 0 ${width} ${height}`} preserveAspectRatio='none' role='img' aria-label={`${label}, at most ${most.toFixed(2)}`}>
      <polyline points={points.join(' ')} />
    </svg>
  )
}
