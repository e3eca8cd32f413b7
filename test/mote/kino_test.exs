defmodule Mote.KinoTest do
  # What the process of a widget answers a browser; the answers themselves have tests with the dashboard.
  use ExUnit.Case, async: true
  import Kino.Test

  alias Mote.{Actors, Peek}
  alias Mote.Dashboard.Page

  setup :configure_livebook_bridge

  # Whether it went well, and the JSON or the text of the answer.
  defp ask(kino, method, path, params \\ %{}) do
    number = System.unique_integer([:positive])
    push_event(kino, "ask", %{"number" => number, "method" => method, "path" => path, "params" => params})
    assert_send_event(kino, "answer", %{number: ^number} = answer, 20_000)
    {answer.ok, answer.text}
  end

  defp json(kino, path, params \\ %{}) do
    {true, text} = ask(kino, "GET", path, params)
    Peek.JSON.decode!(text)
  end

  test "a widget answers as the page's server does" do
    machine = start_supervised!(Mote)
    counter = Mote.create(machine, Actors.counter(41))
    kino = Mote.Kino.new(machine)
    assert connect(kino, nil, 20_000) == nil
    assert %{"state" => "running", "pid" => pid} = json(kino, "data")
    assert pid == inspect(machine)

    assert %{"actors" => [%{"id" => id}]} = json(kino, "top", %{"by" => "bytes"})

    assert %{"captures" => ["41"], "behaviour" => "Mote.Actors.counter/1"} =
             json(kino, "actor", %{"id" => id})

    assert {true, _} = ask(kino, "POST", "trace/start")
    Mote.send(counter, {:add, 1})
    assert %{"on" => true, "about" => "all turns"} = json(kino, "trace")

    assert {true, _} = ask(kino, "POST", "pause")
    assert Mote.info(machine).paused
    assert {false, "There is nothing of that name.\n"} = ask(kino, "GET", "nothing")
    assert {false, error} = ask(kino, "GET", "actor", %{"id" => "another"})
    assert error =~ "look for it again"
    :ok = Mote.stop(machine)
    assert %{"state" => "stopped"} = json(kino, "data")
  end

  @tag :capture_log
  test "a request that no page sends has an answer, and the widget goes on" do
    kino = Mote.Kino.new(start_supervised!(Mote))
    connect(kino, nil, 20_000)
    assert {false, text} = ask(kino, "GET", "top", :no_map)
    assert text =~ "the log says why"
    assert %{"state" => "running"} = json(kino, "data")
  end

  test "nothing of a widget is left when it ends" do
    kino = Mote.Kino.new(start_supervised!(Mote))
    {:links, links} = Process.info(kino.pid, :links)

    own =
      for pid <- links,
          Process.info(pid, :dictionary) |> elem(1) |> Keyword.get(:"$ancestors") |> hd() == kino.pid,
          do: pid

    assert length(own) == 2
    monitors = for pid <- [kino.pid | own], do: {Process.monitor(pid), pid}
    :ok = Kino.terminate_child(kino.pid)
    for {monitor, pid} <- monitors, do: assert_receive({:DOWN, ^monitor, :process, ^pid, _})
  end

  test "the browser gets the page's style and its script, with another way to ask" do
    {:ok, files} =
      :erl_tar.extract(String.to_charlist(Mote.Kino.__assets_info__().archive_path), [:memory, :compressed])

    files = Map.new(files, fn {name, text} -> {to_string(name), text} end)
    assert %{"main.css" => style, "main.js" => script} = files
    assert style == Page.style()
    assert script =~ ~r/\Aexport function init\(ctx\) {\n/
    assert script =~ ~S(ctx.pushEvent("ask", ) and script =~ ~S(ctx.handleEvent("answer", )
    refute script =~ "fetch("
    # The rest is the page's, to the letter.
    [_, shared] = String.split(Page.html(), "// Once a second the page asks", parts: 2)
    [shared, _] = String.split(shared, "</script>", parts: 2)
    assert script =~ shared
  end

  test "what cannot be a machine" do
    assert_raise ArgumentError, ~r/expected a machine: /, fn -> Mote.Kino.new("machine") end
  end
end
