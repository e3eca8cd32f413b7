defmodule Mote.Prelude.Inline.MapSet do
  # Functions of MapSet that take functions, as templates. They go through a set in the order of its members.
  @moduledoc false
  use Mote.Behaviour.Template

  deftemplate new(source, fun), do: made(Enum.to_list(source), MapSet.new(), fun)

  deftemplate made([], set, fun), do: set
  deftemplate made([x | rest], set, fun), do: made(rest, MapSet.put(set, fun.(x)), fun)

  deftemplate filter(set, fun), do: chosen(Enum.to_list(set), set, fun)

  deftemplate chosen([], set, fun), do: set

  deftemplate chosen([x | rest], set, fun),
    do: chosen(rest, if(fun.(x), do: set, else: MapSet.delete(set, x)), fun)

  deftemplate reject(set, fun), do: left(Enum.to_list(set), set, fun)

  deftemplate left([], set, fun), do: set

  deftemplate left([x | rest], set, fun),
    do: left(rest, if(fun.(x), do: MapSet.delete(set, x), else: set), fun)

  deftemplate split_with(set, fun), do: parted(Enum.to_list(set), set, set, fun)

  deftemplate parted([], yes, no, fun), do: {yes, no}

  deftemplate parted([x | rest], yes, no, fun) do
    if fun.(x),
      do: parted(rest, yes, MapSet.delete(no, x), fun),
      else: parted(rest, MapSet.delete(yes, x), no, fun)
  end
end
