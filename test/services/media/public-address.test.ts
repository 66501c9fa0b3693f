import t from 'tap'
import { isPublicAddress } from '../../../services/media/public-address.ts'

t.test('accepts public addresses', async t => {
  const addresses = [
    '1.1.1.1', '8.8.8.8', '93.184.216.34', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255',
    '223.255.255.255', '2606:4700:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::8.8.8.8',
    '64:ff9b::808:808'
  ]
  for (const address of addresses) t.ok(isPublicAddress(address), address)
})

t.test('rejects all others', async t => {
  const addresses = [
    // This network and host, private use, shared, link-local with the metadata of clouds.
    '0.0.0.0', '0.1.2.3', '127.0.0.1', '127.255.255.254', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1',
    '100.64.0.1', '100.100.100.200', '169.254.169.254', '169.254.170.2', '168.63.129.16',
    // Protocols, documentation, benchmarks, anycast relays, multicast, reserved, broadcast.
    '192.0.0.192', '192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '192.88.99.1', '224.0.0.1', '240.0.0.1',
    '255.255.255.255',
    // The same inside of IPv6, in every spelling.
    '::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:7f00:0001', '::FFFF:10.0.0.1', '::ffff:169.254.169.254',
    '::ffff:0:127.0.0.1', '::127.0.0.1', '::7f00:1', '64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::8.8.8.8', '2002:7f00:1::', '2002:a00:1::1', '2001:0:7f00:1::',
    // IPv6's own.
    '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fe80::1%25lo', 'febf::1', 'fc00::1', 'fd00:ec2::254', 'fec0::1', 'ff02::1',
    '100::1', '2001:db8::1', '3fff::1', '2001:2::1', '2001:10::1', '5f00::1', '4000::1', '2606:4700::1%1',
    // Not addresses, or not in canonical notation.
    '', 'localhost', '256.1.1.1', '1.1.1.1:80', '[::1]', '::1::', ' 127.0.0.1', '127.1', '2130706433', '0x7f000001', '017700000001'
  ]
  for (const address of addresses) t.notOk(isPublicAddress(address), address)
})
