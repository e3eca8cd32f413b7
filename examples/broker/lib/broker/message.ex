defmodule Broker.Message do
  @moduledoc """
  What is published.

    * `topic`, `levels` - the name of its topic, as it is and in parts;
    * `payload`, `qos`, `retain`;
    * `properties` - those of MQTT 5 that receivers get, as they are on the wire;
    * `lasts` - how many seconds somebody wants it, and `expires`, the millisecond after which nobody does; `nil`: for ever;
    * `from` - the session that has published it;
    * `frame` - `{version, bytes}` if it can go out as it came in, or `nil`.
  """
  defstruct [
    :topic,
    :levels,
    :payload,
    :lasts,
    :expires,
    :from,
    :frame,
    qos: 0,
    retain: false,
    properties: ""
  ]
end
