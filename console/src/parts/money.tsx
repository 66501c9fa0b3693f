import type { JSX } from 'preact'

const nanoPerUsd = 1_000_000_000n

/** Nano-dollars as dollars with every digit, e.g. `-0.000000125`. */
export function exactUsd (nano: bigint): string {
  const size = nano < 0n ? -nano : nano
  const decimals = (size % nanoPerUsd).toString().padStart(9, '0').replace(/0+$/, '').padEnd(2, '0')
  return `${nano < 0n ? '-' : ''}${size / nanoPerUsd}.${decimals}`
}

/** The same for people, e.g. `$1,250.00`. */
export function groupedUsd (nano: bigint): string {
  return `$${exactUsd(nano).replace(/\d(?=(\d{3})+\.)/g, '$&,')}`
}

/** Nano-dollars to the last digit that matters: cents from a dollar on, else three significant digits. */
export function shortUsd (nano: bigint): string {
  const usd = Number(nano) / 1e9
  const sign = usd < 0 ? '−' : ''
  const size = Math.abs(usd)
  if (size === 0 || size >= 1) return `${sign}$${size.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
  const digits = size.toLocaleString('en-US', { maximumSignificantDigits: 3, maximumFractionDigits: 9 })
  return `${sign}$${/\.\d$/.test(digits) ? `${digits}0` : digits}`
}

/** An amount of money; the exact one shows on hover. */
export function Money ({ nano }: { nano: bigint | null }): JSX.Element {
  if (nano === null) return <span class='muted'>–</span>
  return <data class='money' value={exactUsd(nano)} title={`$${exactUsd(nano)}`}>{shortUsd(nano)}</data>
}
