defmodule Mote.Bench.Programs.Telemetry do
  # What a machine pays for telling of itself: the same work in one that tells nothing, and in one that tells all that
  # `:stats` has a hundred times as often as by default, to a handler. What it costs by default is a hundredth of the
  # difference, which by itself would be lost in the noise.
  @moduledoc false

  alias Mote.Bench.Programs.PingPong

  use Mote.Bench.Program,
    title: "n round trips between two actors of a machine that tells a hundred times as much as by default",
    param: :n,
    defaults: [2_000_000],
    small: 100,
    metric: :ns_per_message,
    count: &PingPong.count/1,
    expected: &PingPong.expected/1,
    machines: [silent: [main: [threads: 1]], telling: [main: [threads: 1]]],
    options: [silent: [telemetry: [level: :none]], telling: [telemetry: [level: :stats, interval: 10]]],
    # One that lives on tells while the other one is measured.
    anew: [:silent, :telling],
    ratio: {:ratio_telling_vs_silent, :telling, :silent}

  @handler __MODULE__

  @impl true
  def mote(machine, n) do
    :telemetry.detach(@handler)
    :ok = :telemetry.attach_many(@handler, Mote.Telemetry.events(), &__MODULE__.handle/4, nil)
    PingPong.mote(machine, n)
  end

  @doc false
  def handle(_event, _measurements, _metadata, nil), do: :ok
end
