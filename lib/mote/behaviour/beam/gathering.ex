defmodule Mote.Behaviour.Beam.Gathering do
  # The behaviour that `create gather(customer, count, initial, fun)` creates in a beam turn: its function may
  # be any, so it lives in a beam sponsor.
  @moduledoc false

  use Mote.Behaviour

  @doc false
  defactor gathering(customer, missing, sum, fun), beam: true do
    report ->
      sum = fun.(report, sum)

      if missing > 1 do
        become missing: missing - 1, sum: sum
      else
        send customer, sum
        become sink()
      end
  end
end
