import type { JSX } from 'preact'

export interface Series {
  name: string
  /** One for each day. */
  values: readonly number[]
}

interface ChartProps {
  label: string
  /** As `2026-11-21`. */
  days: readonly string[]
  series: readonly Series[]
  /** A value in words. */
  format (value: number): string
}

const inWords = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** A day in UTC as the lists have it, e.g. `21 Nov`. */
function dayName (day: string): string {
  return inWords.format(new Date(day))
}

const height = 220
const left = 64
const bottom = 22

/** Stacked bars by day with a legend; each bar tells its value on hover. The table below it has the same numbers. */
export function Chart ({ label, days, series, format }: ChartProps): JSX.Element {
  // Its texts keep their size on every screen.
  const width = Math.min(Math.max(innerWidth - 40, 320), 900)
  const totals = days.map((_day, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0))
  const most = Math.max(...totals, 1)
  const step = (width - left) / days.length
  const y = (value: number): number => (height - bottom) * (1 - value / most * 0.95)
  const every = Math.ceil(days.length / (width / 90))
  return (
    <figure class='chart'>
      <svg viewBox={`0 0 ${width} ${height}`} role='img' aria-label={`${label}, at most ${format(most)} a day`}>
        {[0, most / 2, most].map(value => (
          <g key={value}>
            <line class='grid' x1={left} x2={width} y1={y(value)} y2={y(value)} />
            <text x={left - 8} y={y(value) + 4} text-anchor='end'>{format(value)}</text>
          </g>
        ))}
        {days.map((day, index) => {
          let below = 0
          return (
            <g key={day}>
              {series.map(({ name, values }, position) => {
                const value = values[index] ?? 0
                if (value === 0) return null
                const from = below
                below += value
                return (
                  <rect
                    key={name} class={`series-${position}`} x={left + index * step + step * 0.12} width={step * 0.76}
                    y={y(below)} height={Math.max(y(from) - y(below), 0.5)}
                  ><title>{`${dayName(day)} (UTC), ${name}: ${format(value)}`}</title>
                  </rect>
                )
              })}
              {index % every === 0 && <text x={left + (index + 0.5) * step} y={height - 6} text-anchor='middle'>{dayName(day)}</text>}
            </g>
          )
        })}
      </svg>
      <figcaption>{series.map(({ name }, position) => <span key={name}><i class={`series-${position}`} /> {name}</span>)}</figcaption>
    </figure>
  )
}
