import ipaddr from 'ipaddr.js'

/**
 * Whether an IP address, in any spelling, is one of the public Internet. IPv4 addresses inside of IPv6 ones
 * count as what they are. Source: IANA special-purpose address registries.
 */
export function isPublicAddress (text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.parse(text)
  if (address instanceof ipaddr.IPv4) return isPublicIPv4(address)
  // An address of one interface of this machine.
  if (address.zoneId !== undefined) return false
  if (address.isIPv4MappedAddress()) return isPublicIPv4(address.toIPv4Address())
  // Networks without IPv4 reach the rest of the Internet through a translator at this prefix.
  if (address.match(translated)) return isPublicIPv4(new ipaddr.IPv4(address.toByteArray().slice(12)))
  return address.match(globalUnicast) && address.range() === 'unicast' && !documentation.some(net => address.match(net))
}

const translated = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
const documentation = [ipaddr.IPv6.parseCIDR('2001:db8::/32'), ipaddr.IPv6.parseCIDR('3fff::/20')]

/** Public by its number, but every machine of one cloud reaches its host's services there. */
const hostServices = '168.63.129.16'

function isPublicIPv4 (address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && address.toString() !== hostServices
}
