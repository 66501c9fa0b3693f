import { dearest, type Cost } from './dearest.ts'

/** The name of a model and what it costs. */
interface Named extends Cost { name: string }

/**
 * The dearest of each rate of a model's family, for a model without a price. A family is the maker and the
 * words before the first number, or fewer of them if no such model has a price: `claude-opus-9` belongs to
 * `claude-opus`, and `claude-nova-1` to `claude`. Undefined if none of them has a price.
 */
export function familyCost (name: string, models: readonly Named[]): ReturnType<typeof dearest> | undefined {
  const priced = models.filter(({ price }) => price !== undefined && price.outputPico > 0)
  for (let family = familyOf(name); family !== ''; family = shorter(family)) {
    const members = priced.filter(one => isOf(family, one.name))
    if (members.length > 0) return dearest(members)
  }
  return undefined
}

/** The maker, if the name has one, and the words before the first number. */
function familyOf (name: string): string {
  return /^(?:.*\/)?[a-z]+(?:-[a-z]+)*(?![a-z])/i.exec(name)?.[0].toLowerCase() ?? ''
}

function shorter (family: string): string {
  const end = family.lastIndexOf('-')
  return end > family.lastIndexOf('/') ? family.slice(0, end) : ''
}

function isOf (family: string, name: string): boolean {
  const other = name.toLowerCase()
  return other.startsWith(family) && !/[a-z]/.test(other.charAt(family.length))
}
