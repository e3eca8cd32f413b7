# Under stress machines collect after every turn (guides/internals/memory-details.md): everything takes many times as long, and tests of
# figures that are then others say so, with a reason.
# Whatever is waited for comes much sooner, but a busy host may take a core away for seconds.
patience = [
  assert_receive_timeout: 20_000,
  timeout: 600_000,
  formatters: [ExUnit.CLIFormatter, Mote.StillRunning]
]

# A process that takes four gigabytes is ended, and its test fails: without that the system would end the node, in silence.
:erlang.system_flag(:max_heap_size, %{size: div(4_000_000_000, 8), kill: true, error_logger: true})

if System.get_env("MOTE_GC_STRESS", "0") in ["", "0"],
  do: ExUnit.start(patience),
  else: ExUnit.start([exclude: [:not_under_stress]] ++ patience)
