# Under stress machines collect after every turn (guides/memory.md): everything takes many times as long, and tests of
# figures that are then others say so, with a reason.
if System.get_env("MOTE_GC_STRESS", "0") in ["", "0"],
  do: ExUnit.start(assert_receive_timeout: 2_000),
  else: ExUnit.start(assert_receive_timeout: 20_000, timeout: 600_000, exclude: [:not_under_stress])
