defmodule Mote.Prelude.Math do
  # Functions of :math that are not primitives. All of them are exact.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Float, as: Fraction

  defpure ceiled(n) when is_number(n), do: Fraction.ceiled(n * 1.0)
  defpure floored(n) when is_number(n), do: Fraction.floored(n * 1.0)
end
