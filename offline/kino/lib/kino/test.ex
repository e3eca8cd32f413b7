defmodule Kino.Test do
  @moduledoc "Stands for a browser in tests of widgets: the calling process."

  import ExUnit.Assertions

  @doc "Does nothing here: the real one lets a test see what goes to Livebook by the group leader."
  def configure_livebook_bridge(_context), do: :ok

  @doc "Connects to a widget. Returns what it sends first."
  def connect(%{pid: pid, ref: ref}, resolve \\ nil, timeout \\ 100) do
    send(pid, {:connect, self(), %{ref: ref, origin: inspect(self())}})
    if resolve, do: resolve.()
    assert_receive {:connect_reply, data, %{ref: ^ref}}, timeout
    data
  end

  @doc "Sends an event to a widget."
  def push_event(%{pid: pid}, event, payload),
    do: send(pid, {:event, event, payload, %{origin: inspect(self())}})

  @doc "Asserts that a widget sends an event to the calling process."
  defmacro assert_send_event(kino, event, payload, timeout \\ 100) do
    quote do
      %{ref: ref} = unquote(kino)
      assert_receive {:event, unquote(event), unquote(payload), %{ref: ^ref}}, unquote(timeout)
    end
  end
end
