"""Instructions that change no value here: fences, hints to caches, pauses, and policies of caches."""

from functools import partial
from typing import Final

from golden.simt.decode_lines import Line, decode_line

_EVICTIONS: Final = ".L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged"
_THEN: Final = ".L2::evict_first|.L2::evict_unchanged?"
_SCOPES: Final = ".cta|.cluster|.gpu|.sys"
_BYTES: Final = range(128, 129)
_EVENTS: Final = range(1 << 16)
_PROXIES: Final = (
    (".proxy .alias", ""),
    (".proxy .async .global", ""),
    (".proxy .async .shared::cta|.shared::cluster?", "fence_proxy"),
)
_LINES: Final = (
    Line(f"fence .sc|.acq_rel|.acquire|.release? {_SCOPES}"),
    Line("fence .acquire .sync_restrict::shared::cluster .cluster"),
    Line("fence .release .sync_restrict::shared::cta .cluster"),
    Line("fence .mbarrier_init .release .cluster"),
    *(Line(f"{name} {proxy}", (), method) for name in ("fence", "membar") for proxy, method in _PROXIES),
    Line(f"fence .proxy .tensormap::generic .release {_SCOPES}"),
    Line(f"fence .proxy .tensormap::generic .acquire {_SCOPES}", ("address", _BYTES)),
    Line("fence .proxy .async::generic .acquire .sync_restrict::shared::cluster .cluster"),
    Line("fence .proxy .async::generic .release .sync_restrict::shared::cta .cluster"),
    Line("membar .cta|.gl|.sys"),
    Line("prefetch .global|.local? .L1|.L2", ("address",)),
    Line("prefetch .global? .L2::evict_last|.L2::evict_normal", ("address",)),
    Line("prefetch .const|.param? .tensormap", ("address",)),
    Line("prefetchu .L1", ("address",)),
    Line("applypriority .global? .L2::evict_normal", ("address", _BYTES)),
    Line("discard .global? .L2", ("address", _BYTES)),
    Line("nanosleep .u32", ("u32",)),
    Line("pmevent", (_EVENTS,)),
    Line("pmevent .mask", (_EVENTS,)),
    Line("setmaxnreg .inc|.dec .sync .aligned .u32", (range(24, 257, 8),)),
    Line("griddepcontrol .launch_dependents|.wait"),
    Line(f"createpolicy .fractional {_EVICTIONS} {_THEN} .b64", ("policy",)),
    Line(f"createpolicy .fractional {_EVICTIONS} {_THEN} .b64", ("policy", "f32")),
    Line(f"createpolicy .range .global? {_EVICTIONS} {_THEN} .b64", ("policy", "address", "u32", "u32")),
    Line("createpolicy .cvt .L2 .b64", ("policy", "b64")),
)

DECODERS: Final = dict.fromkeys((line.syntax.split()[0] for line in _LINES), partial(decode_line, _LINES))
