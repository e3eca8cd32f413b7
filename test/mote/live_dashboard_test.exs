defmodule Mote.LiveDashboardTest do
  # What the page does with the data of the dashboard, which have tests of their own.
  use ExUnit.Case, async: true

  import Phoenix.Component, only: [assign: 2]
  import Phoenix.LiveViewTest, only: [rendered_to_string: 1]

  alias Mote.{Actors, Holders, LiveDashboard, TwoNodes}
  alias Phoenix.LiveDashboard.PageBuilder

  # As LiveDashboard opens the page.
  defp open(machine, node \\ node()) do
    page = %PageBuilder{module: LiveDashboard, node: node, params: %{}, route: :mote}
    socket = assign(%Phoenix.LiveView.Socket{}, page: page)
    {:ok, socket} = LiveDashboard.mount(%{}, %{machine: machine}, socket)
    socket
  end

  defp click(socket, event, params \\ %{}) do
    {:noreply, socket} = LiveDashboard.handle_event(event, params, socket)
    socket
  end

  defp html(socket), do: socket.assigns |> LiveDashboard.render() |> rendered_to_string()

  # The place of a row, as it is in the page.
  defp place(socket, attribute, text) do
    [_, place] =
      Regex.run(
        ~r/<tr[^>]*phx-value-#{attribute}="(\d+)"[^>]*>(?:(?!<tr).)*#{Regex.escape(text)}/s,
        html(socket)
      )

    place
  end

  defp id(address) do
    [_, id] = Regex.run(~r/<(\w+) in/, inspect(address))
    id
  end

  test "the router gives it the name of a machine" do
    assert LiveDashboard.init(machine: Shop.Mote) == {:ok, %{machine: Shop.Mote}, process: Shop.Mote}
    assert LiveDashboard.menu_link(%{machine: Shop.Mote}, %{processes: [Shop.Mote]}) == {:ok, "Shop.Mote"}
    assert LiveDashboard.menu_link(%{machine: Shop.Mote}, %{processes: []}) == {:disabled, "Shop.Mote"}

    for wrong <- [[], [machine: nil], [machine: "Shop"], [machine: A, other: 1], nil],
        do:
          assert_raise(ArgumentError, ~r/expected {Mote.LiveDashboard, machine: name}/, fn ->
            LiveDashboard.init(wrong)
          end)
  end

  test "from the machine to a behaviour, its actors, an actor's state and those that it reaches" do
    name = Mote.LiveDashboardTest.Shown
    machine = start_supervised!({Mote, name: name, sponsors: [main: [threads: 1], other: [threads: 2]]})
    leaf = Mote.create(machine, Actors.counter(7))
    root = Mote.create(machine, Holders.holder({leaf, "<b>"}), sponsor: :other)
    page = open(name)
    html = html(page)
    assert html =~ "running" and html =~ ":main" and html =~ ":other"
    refute html =~ "Mote.Holders.holder/1"

    page = click(page, "count")
    assert html(page) =~ "Mote.Actors.counter/1"
    behaviour = place(page, "behaviour", "Mote.Holders.holder/1")
    page = click(page, "actors", %{"behaviour" => behaviour, "by" => "bytes"})
    assert html(page) =~ "Actors of Mote.Holders.holder/1"
    page = click(page, "actor", %{"actor" => place(page, "actor", "&lt;#{id(root)} in")})
    html = html(page)
    assert html =~ "sponsor :other"
    assert html =~ "<pre>{#Mote.Address" and html =~ "&quot;&lt;b&gt;&quot;"
    page = click(page, "actor", %{"actor" => place(page, "actor", "Mote.Actors.counter/1")})
    assert html(page) =~ "<pre>7</pre>"
    assert Mote.info(root).sponsor == :other

    # What is no place in a list is told, and changes nothing.
    for wrong <- [%{"actor" => "99"}, %{"actor" => "-1"}, %{"actor" => "x"}, %{}] do
      html = html(click(page, "actor", wrong))
      assert html =~ "count the behaviours again" and html =~ "<pre>7</pre>"
    end
  end

  test "a refresh reads counters, and says what has been done since the last one" do
    name = Mote.LiveDashboardTest.Refreshed
    machine = start_supervised!({Mote, name: name})
    page = open(name)
    assert [%{turns: nil, busy: nil}] = page.assigns.sponsors
    counter = Mote.create(machine, Actors.counter(0))
    for n <- 1..50, do: Mote.send(counter, {:add, n})
    :ok = Mote.drain(machine, 60_000)
    before = page.assigns.now.at
    {:noreply, page} = LiveDashboard.handle_refresh(page)
    assert [%{turns: turns, busy: busy, aborts: aborts}] = page.assigns.sponsors
    assert_in_delta turns, 50 * 1_000 / max(page.assigns.now.at - before, 1), 0.001
    assert busy >= 0 and busy <= 1 and aborts == 0
    assert html(page) =~ ~r"Turns so far</h6>\s*<div>50</div>"
  end

  test "a machine that has ended, and the next one of its name" do
    name = Mote.LiveDashboardTest.Ended
    start_supervised!({Mote, name: name, id: :first})
    page = click(open(name), "count")
    :ok = stop_supervised(:first)
    # Asked for before the page has noticed.
    assert html(click(page, "count")) =~ "Mote.LiveDashboardTest.Ended"
    {:noreply, page} = LiveDashboard.handle_refresh(page)
    assert html(page) =~ ~r/role="status">[^<]*Mote.LiveDashboardTest.Ended/
    start_supervised!({Mote, name: name, id: :second})
    {:noreply, page} = LiveDashboard.handle_refresh(page)
    assert html(page) =~ "running"
  end

  @tag skip: TwoNodes.missing()
  test "a machine of the node that is chosen" do
    {:ok, nodes} = TwoNodes.start()
    name = Mote.LiveDashboardTest.Home
    {:ok, _} = :peer.call(nodes.home, Supervisor, :start_child, [Mote.Supervisor, {Mote, name: name}], 60_000)
    away = fn function, arguments -> :peer.call(nodes.away, LiveDashboard, function, arguments, 60_000) end
    page = %PageBuilder{module: LiveDashboard, node: :"home@127.0.0.1", params: %{}, route: :mote}

    {:ok, page} = away.(:mount, [%{}, %{machine: name}, assign(%Phoenix.LiveView.Socket{}, page: page)])
    assert page.assigns.now.node == :"home@127.0.0.1"
    {:noreply, page} = away.(:handle_event, ["count", %{}, page])
    # Nothing is alive there, and to look for that was no error.
    assert %{error: nil, behaviours: []} = page.assigns
    TwoNodes.stop(nodes)
  end

  test "a node that does not answer" do
    assert html(open(Shop.Mote, :nobody@nowhere)) =~ "The node has not answered: :noconnection."
  end
end
