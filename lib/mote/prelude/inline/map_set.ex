defmodule Mote.Prelude.Inline.MapSet do
  # Functions of MapSet that take functions, as templates. They go through a set in the order of its members.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate new(source, fun), do: MapSet.new(for(x <- Enum.to_list(source), do: fun.(x)))

  deftemplate filter(set, fun), do: reject(set, fn x -> !fun.(x) end)

  deftemplate reject(set, fun),
    do: for(x <- MapSet.to_list(set), fun.(x), reduce: set, do: (left -> MapSet.delete(left, x)))

  deftemplate split_with(set, fun) do
    {yes, no} = Enum.split_with(MapSet.to_list(set), fn x -> fun.(x) end)
    {MapSet.new(yes), MapSet.new(no)}
  end
end
