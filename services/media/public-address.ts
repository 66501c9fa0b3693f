import ipaddr from 'ipaddr.js'

/**
 * Whether an IP address, in any notation, is routed on the public Internet. An IPv4 address embedded in IPv6
 * is judged as IPv4. Source: IANA special-purpose address registries.
 */
export function isPublicAddress (text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.parse(text)
  if (address instanceof ipaddr.IPv4) return isPublicIPv4(address)
  // A zone makes it link-local.
  if (address.zoneId !== undefined) return false
  if (address.isIPv4MappedAddress()) return isPublicIPv4(address.toIPv4Address())
  // NAT64, RFC 6052.
  if (address.match(nat64)) return isPublicIPv4(new ipaddr.IPv4(address.toByteArray().slice(12)))
  return address.match(globalUnicast) && address.range() === 'unicast' && !documentation.some(net => address.match(net))
}

const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
const documentation = [ipaddr.IPv6.parseCIDR('2001:db8::/32'), ipaddr.IPv6.parseCIDR('3fff::/20')]

/** Publicly routed, but Azure serves its virtual machines' host services there. */
const azureHost = '168.63.129.16'

function isPublicIPv4 (address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && address.toString() !== azureHost
}
