// SPDX-License-Identifier: BSD-2-Clause
#include "device/driver.h"

#include <string.h>

#include "base/bytes.h"

/* Sources are files of the kernel, of the version behind them. "6.1" stands for what was read for
 * takes_redirected: ndo_xdp_xmit is set, and asks for a program of the device's own where it does.
 */
static const struct shunt_driver drivers[] = {
	{
		.name = "veth",		  /* drivers/net/veth.c, 6.18 */
		.is_pair = true,	  /* no xsk_pool ops; NETIF_F_HW_VLAN_* without parsing */
		.sends_bare = true,	  /* veth_xdp_xmit: the peer's NAPI matters */
		.has_generic_room = true, /* veth_newlink: needed_headroom by the peer */
	},
	{
		.name = "tun",		  /* drivers/net/tun.c, 6.18 */
		.takes_redirected = true, /* tun_xdp_xmit, 6.1 */
		.sends_bare = true,	  /* tun_xdp_xmit: into the queue */
		.has_generic_room = true, /* tun_build_skb: TUN_HEADROOM */
	},
	{
		.name = "virtio_net",	   /* drivers/net/virtio_net.c, 6.13 */
		.takes_redirected = true,  /* virtnet_xdp_xmit, 6.1 */
		.lacks_headroom = true,	   /* __virtnet_xdp_xmit_one: vi->hdr_len before the
					    * frame; xdp_convert_zc_to_xdp_frame leaves none */
		.is_virtio = true,	   /* virtio.rst: /sys/bus/virtio/devices/.../features */
		.zerocopy_since = {6, 13}, /* 6.11 and 6.12 receive only, and offer none */
	},
	{
		.name = "igb",		   /* drivers/net/ethernet/intel/igb, 6.14 */
		.takes_redirected = true,  /* igb_main.c, igb_xdp_xmit, 6.1 */
		.zerocopy_since = {6, 14}, /* igb_xsk.c */
		.xdp_len_max = 3072,	   /* igb_main.c, igb_xdp_setup, and igb_setup_srrctl: a
					    * longer one comes in pieces, which are dropped */
		.xdp_overhead = 4 + 2 * 4, /* igb_xdp_setup: FCS, two VLAN tags */
	},
	{.name = "igc", .takes_redirected = true},	 /* igc_main.c, igc_xdp_xmit, 6.1 */
	{.name = "ixgbe", .takes_redirected = true},	 /* ixgbe_main.c, ixgbe_xdp_xmit, 6.1 */
	{.name = "i40e", .takes_redirected = true},	 /* i40e_txrx.c, i40e_xdp_xmit, 6.1 */
	{.name = "ice", .takes_redirected = true},	 /* ice_txrx.c, ice_xdp_xmit, 6.1 */
	{.name = "mlx5_core", .takes_redirected = true}, /* en/xdp.c, mlx5e_xdp_xmit, 6.1 */
	{.name = "bnxt_en", .takes_redirected = true},	 /* bnxt_xdp.c, bnxt_xdp_xmit, 6.1 */
	{
		.name = "ena",		  /* drivers/net/ethernet/amazon/ena, 6.1 */
		.takes_redirected = true, /* ena_netdev.c, ena_xdp_xmit */
		.wants_half_free = true,  /* ena_netdev.c, ena_xdp_allowed */
	},
	{.name = "gve", .wants_half_free = true},   /* gve_main.c, verify_xdp_configuration, 6.4 */
	{.name = "nicvf", .wants_half_free = true}, /* nicvf_main.c, nicvf_xdp_setup, 6.1 */
};

const struct shunt_driver *shunt_driver_of(const char *name)
{
	static const struct shunt_driver unknown;
	unsigned i;

	for (i = 0; i < SHUNT_ARRAY_LEN(drivers); i++)
		if (!strcmp(name, drivers[i].name))
			return &drivers[i];
	return &unknown;
}
