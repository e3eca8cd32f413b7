defmodule Mote.Prelude.Zone do
  # The time zone that a machine knows, as Elixir's `Calendar.TimeZoneDatabase`. Whatever a node has been given for others may differ
  # from node to node: asked for one of them, the turn is aborted.
  @moduledoc false
  use Mote.Behaviour

  @utc %{std_offset: 0, utc_offset: 0, zone_abbr: "UTC"}

  defpure time_zone_period_from_utc_iso_days(_days, "Etc/UTC"), do: {:ok, @utc}
  defpure time_zone_periods_from_wall_datetime(_datetime, "Etc/UTC"), do: {:ok, @utc}
end
