# Settings of this repository's own builds and tests. A project that depends on Mote does not read them.
import Config

# Tests draw plots; whoever else wants them here says so: MOTE_PLOTS=1 mix mote.report
config :mote, plots: config_env() == :test or System.get_env("MOTE_PLOTS") in ["1", "true"]

# Likewise of TLS: MOTE_TLS=1
config :mote, tls: config_env() == :test or System.get_env("MOTE_TLS") in ["1", "true"]

if config_env() == :test do
  # A quick look by default, with seeds of its own each time; a long night: MOTE_MAX_RUNS=100000 mix test
  usual = if System.get_env("MOTE_LONG", "0") == "0", do: "30", else: "300"
  config :stream_data, max_runs: String.to_integer(System.get_env("MOTE_MAX_RUNS", usual))
end
