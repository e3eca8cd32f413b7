defmodule Mote.Prelude.Access do
  # `container[key]`, of maps, keyword lists and nil. A struct has no such access.
  @moduledoc false
  use Mote.Behaviour

  alias Mote.Prelude.Keyword, as: Pairs

  defpure get(container, key), do: get(container, key, nil)

  defpure get(nil, _, default), do: default
  defpure get(list, key, default) when is_list(list), do: Pairs.get(list, key, default)
  defpure get(map, key, default) when not is_map_key(map, :__struct__), do: Map.get(map, key, default)
end
