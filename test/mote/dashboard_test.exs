defmodule Mote.DashboardTest do
  # What a dashboard answers over HTTP, to friends and to strangers; its data and its JSON have tests of their own.
  use ExUnit.Case, async: true
  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.{Actors, Dashboard, Holders, Peek}

  doctest Mote.Dashboard

  setup do
    machine = start_supervised!({Mote, sponsors: [main: [threads: 1], other: [threads: 2]]})
    dashboard = start_supervised!({Dashboard, machine: machine})
    %{machine: machine, dashboard: dashboard, url: Dashboard.url(dashboard)}
  end

  describe "the page" do
    test "is one file that may load nothing", %{url: url} do
      {200, headers, page} = Peek.get(url)
      assert headers["content-type"] == "text/html; charset=utf-8"
      assert headers["cache-control"] == "no-store"
      assert headers["referrer-policy"] == "no-referrer"
      assert headers["x-content-type-options"] == "nosniff"
      policy = headers["content-security-policy"]
      assert policy =~ "default-src 'none'" and policy =~ "frame-ancestors 'none'"
      refute policy =~ "unsafe"
      refute page =~ "{{"

      # Nothing is fetched from elsewhere; the address of SVG is a name.
      assert Regex.scan(~r/https?:[^"' ]+/, page) |> List.flatten() |> Enum.uniq() == [
               "http://www.w3.org/2000/svg"
             ]

      # What it may run and wear is what is in it.
      for {tag, directive} <- [{"style", "style-src"}, {"script type=\"module\"", "script-src"}] do
        [name | _] = String.split(tag)
        [_, inline] = Regex.run(~r"<#{tag}>(.*)</#{name}>"s, page)
        assert policy =~ "#{directive} 'sha256-#{Base.encode64(:crypto.hash(:sha256, inline))}'"
      end
    end

    test "is found without the slash, too", %{url: url} do
      {308, headers, ""} = Peek.get(String.trim_trailing(url, "/"))
      assert URI.merge(url, headers["location"]) |> to_string() == url
    end
  end

  describe "strangers" do
    test "learn nothing without the token", %{url: url} do
      %{path: "/" <> rest} = uri = URI.parse(url)
      token = String.trim_trailing(rest, "/")

      wrong =
        String.replace_prefix(token, String.first(token), if(String.first(token) == "A", do: "B", else: "A"))

      paths = [
        "/",
        "/data",
        "/" <> wrong <> "/",
        "/#{wrong}/data",
        "/#{token}x/data",
        "//data",
        "/favicon.ico"
      ]

      answers = for path <- paths, do: Peek.get(to_string(%{uri | path: path}))
      assert [{404, _, text}] = Enum.uniq(answers)
      refute text =~ token
    end

    test "cannot walk through folders", %{url: url} do
      for path <- [
            "../mix.exs",
            "..%2f..%2fmix.exs",
            "/etc/passwd",
            "page.html",
            "data/",
            "trace/../data",
            "%00"
          ] do
        assert {404, _, _} = Peek.get(url <> path)
      end
    end

    test "cannot act with a GET, nor read with a POST", %{machine: machine, url: url} do
      assert {405, %{"allow" => "POST"}, _} = Peek.get(url <> "pause")
      refute Mote.info(machine).paused
      assert {405, %{"allow" => "GET"}, _} = Peek.post(url <> "data")
      assert {405, %{"allow" => "GET"}, _} = Peek.request(url, "BREW", "data")
    end

    test "make no atoms", %{machine: machine, url: url} do
      Mote.pause(machine)
      words = for n <- 1..3, do: "nobody_has_this_word_#{n}_#{System.unique_integer([:positive])}"
      [sponsor, by, header] = words
      assert {404, _, _} = Peek.post(url <> "step?sponsor=" <> sponsor)
      assert {400, _, _} = Peek.get(url <> "top?by=" <> by)
      assert {200, _, _} = Peek.request(url, "GET", "data", "#{header}: 1\r\n")
      for word <- words, do: assert_raise(ArgumentError, fn -> String.to_existing_atom(word) end)
    end

    test "are bounded, and end nothing", %{url: url, dashboard: dashboard} do
      long = String.duplicate("a", 10_000)
      socket = Peek.connect(url)
      :ok = :gen_tcp.send(socket, "GET /#{long} HTTP/1.1\r\n\r\n")
      assert {:error, _} = :gen_tcp.recv(socket, 0, 20_000)
      assert {431, _, _} = Peek.request(url, "GET", "data", String.duplicate("x: y\r\n", 100))
      assert {400, _, _} = Peek.raw(url, "\x16\x03\x01\x02\r\n\r\n")
      assert {404, _, _} = Peek.raw(url, "OPTIONS * HTTP/1.1\r\n\r\n")
      assert {404, _, _} = Peek.raw(url, "GET x HTTP/1.1\r\n\r\n")
      assert {404, _, _} = Peek.request(url, "GET", "actor?id=%zz%ff%00&id")
      assert {413, _, _} = Peek.request(url, "POST", "pause", "content-length: 1000000\r\n")
      assert {400, _, _} = Peek.request(url, "POST", "pause", "content-length: -1\r\n")
      assert {501, _, _} = Peek.request(url, "POST", "pause", "transfer-encoding: chunked\r\n")
      assert Dashboard.url(dashboard) == url
    end
  end

  describe "whatever is sent" do
    # Requests with and without the token, whole or changed at some bytes, from a seed that a failure names.
    defp requests(url, seed, count) do
      token = url |> URI.parse() |> Map.fetch!(:path) |> String.trim("/")

      paths = [
        "",
        "x",
        "*",
        "http://",
        "/",
        "/#{token}",
        "/#{token}/data",
        "/#{token}/top?by=%ZZ",
        "/#{token}/step?sponsor=%FF"
      ]

      headers = [
        "",
        "a: b",
        "foo",
        " foo",
        "connection: \xff",
        "\xff: \xff",
        "content-length: 1e3",
        "content-length: 3",
        "x"
      ]

      bytes = fn text ->
        for <<byte <- text>>, into: "" do
          case :rand.uniform(60) do
            1 -> <<:rand.uniform(256) - 1>>
            2 -> ""
            3 -> <<byte, byte>>
            _ -> <<byte>>
          end
        end
      end

      :rand.seed(:exsss, seed)

      for _ <- 1..count do
        lines = [
          "#{Enum.random(~w(GET POST BREW))} #{Enum.random(paths)} HTTP/1.#{Enum.random(0..2)}"
          | Enum.take_random(headers, 2)
        ]

        request = Enum.join(lines, "\r\n") <> "\r\n\r\n"
        if :rand.uniform(3) == 1, do: request, else: bytes.(request)
      end
    end

    test "ends no process, and the owner is answered", %{url: url, dashboard: dashboard} do
      seed = :rand.uniform(1_000_000)
      serving = :sys.get_state(dashboard).serving
      # Every process that serves a connection is linked to the dashboard.
      :erlang.trace(dashboard, true, [:receive])

      for some <- url |> requests(seed, 600) |> Enum.chunk_every(20) do
        sockets =
          for request <- some do
            socket = Peek.connect(url)
            # The server may have closed the connection before it has read all.
            _ = :gen_tcp.send(socket, request)
            # Nothing comes behind it: the server answers, or closes.
            _ = :gen_tcp.shutdown(socket, :write)
            socket
          end

        for {socket, request} <- Enum.zip(sockets, some) do
          case :gen_tcp.recv(socket, 0, 20_000) do
            {:ok, "HTTP/1.1 " <> _} -> :ok
            {:error, closed} when closed in [:closed, :econnreset] -> :ok
            other -> flunk("#{inspect(request)} was answered with #{inspect(other)}, seed #{seed}")
          end

          :gen_tcp.close(socket)
        end

        assert %{"state" => "running"} = Peek.json(url <> "data")
      end

      assert eventually(fn -> match?(%{guest: [], owner: []}, :sys.get_state(dashboard)) end)
      assert :sys.get_state(dashboard).serving == serving
      :erlang.trace(dashboard, false, [:receive])
      reasons = ends([])
      assert length(reasons) > 600
      assert Enum.uniq(reasons) -- [:normal, :shutdown] == []
    end

    defp ends(reasons) do
      receive do
        {:trace, _, :receive, {:EXIT, _, reason}} -> ends([reason | reasons])
        {:trace, _, :receive, _} -> ends(reasons)
      after
        0 -> reasons
      end
    end

    test "keeps nobody out", %{url: url, dashboard: dashboard} do
      silent = for _ <- 1..40, do: Peek.connect(url)

      asking =
        for _ <- 1..40 do
          socket = Peek.connect(url)
          :ok = :gen_tcp.send(socket, "GET /nothing HTTP/1.1\r\n\r\n")
          socket
        end

      # The token is shown on a connection that stays open, and is of no use to others.
      owner = Peek.connect(url)
      path = URI.parse(url).path
      :ok = :gen_tcp.send(owner, "GET #{path}data HTTP/1.1\r\n\r\n")
      assert {200, %{"connection" => "keep-alive"}, _} = Peek.answer(owner)
      more = for _ <- 1..40, do: Peek.connect(url)
      :ok = :gen_tcp.send(owner, "GET #{path}data HTTP/1.1\r\n\r\n")
      assert {200, _, _} = Peek.answer(owner)
      assert {:error, _} = :gen_tcp.recv(hd(silent), 0, 20_000)
      assert eventually(fn -> match?(%{owner: [_], leaving: []}, :sys.get_state(dashboard)) end)
      assert length(:sys.get_state(dashboard).guest) <= 32
      for socket <- silent ++ asking ++ more, do: :gen_tcp.close(socket)
    end

    test "comes from this page, or asks for it", %{url: url} do
      for site <- ["cross-site", "same-site"] do
        assert {403, _, _} =
                 Peek.request(url, "POST", "pause", "sec-fetch-site: #{site}\r\ncontent-length: 0\r\n")

        assert {403, _, _} = Peek.request(url, "GET", "data", "Sec-Fetch-Site: #{site}\r\n")
        assert {200, _, _} = Peek.request(url, "GET", "", "sec-fetch-site: #{site}\r\n")
      end

      for site <- ["same-origin", "none"],
          do: assert({200, _, _} = Peek.request(url, "GET", "data", "sec-fetch-site: #{site}\r\n"))
    end
  end

  test "a connection serves many requests, with and without a body", %{url: url} do
    socket = Peek.connect(url)
    path = URI.parse(url).path
    :ok = :gen_tcp.send(socket, "POST #{path}resume HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello")
    assert {200, _, "{\"ok\":true}"} = Peek.answer(socket)
    :ok = :gen_tcp.send(socket, "GET #{path}data HTTP/1.1\r\nconnection: close\r\n\r\n")
    assert {200, %{"connection" => "close"}, _} = Peek.answer(socket)
    assert :gen_tcp.recv(socket, 0, 20_000) == {:error, :closed}
  end

  test "from a behaviour to its actors, an actor's state and its graph", %{machine: machine, url: url} do
    leaf = Mote.create(machine, Actors.counter(7))
    root = Mote.create(machine, Holders.holder({leaf, "text"}), sponsor: :other)
    data = Peek.json(url <> "behaviours")

    [%{"actors" => 1, "id" => id}] =
      for %{"name" => "Mote.Holders.holder/1"} = row <- data["behaviours"], do: row

    assert %{"behaviour" => "Mote.Holders.holder/1", "actors" => [%{"id" => actor, "figure" => bytes}]} =
             Peek.json(url <> "top?by=bytes&behaviour=" <> id)

    assert bytes > 16

    assert %{"captures" => [state], "sponsor" => ":other", "pinned" => ":other", "bytes" => ^bytes} =
             Peek.json(url <> "actor?id=" <> actor)

    assert state == inspect({leaf, "text"})

    assert %{"nodes" => [%{"number" => 0, "id" => ^actor}, %{"number" => 1, "id" => next}], "edges" => [edge]} =
             Peek.json(url <> "graph?depth=1&id=" <> actor)

    assert edge == %{"from" => 0, "capture" => 0, "to" => 1}

    assert %{"captures" => ["7"], "behaviour" => "Mote.Actors.counter/1"} =
             Peek.json(url <> "actor?id=" <> next)

    # Nothing else holds it.
    assert Mote.info(root).bytes == bytes

    # An id of one kind is none of the other, and one that was never handed out is none.
    for path <- ["actor?id=" <> id, "top?behaviour=" <> actor, "actor?id=abc", "actor", "graph?id=x"],
        do: assert({404, _, _} = Peek.get(url <> path))

    assert {400, _, _} = Peek.get(url <> "graph?depth=99&id=" <> actor)
  end

  test "pauses, steps, resumes and collects", %{machine: machine, url: url} do
    counter = Mote.create(machine, Actors.counter(1))
    assert {409, _, error} = Peek.post(url <> "step?sponsor=main")
    assert error =~ "only a paused machine runs turn by turn"
    assert {200, _, _} = Peek.post(url <> "pause")
    assert %{"state" => "paused"} = Peek.json(url <> "data")
    Mote.send(counter, {:add, 2})

    assert {200, _, turn} = Peek.post(url <> "step?sponsor=main")
    assert turn =~ "Mote.Actors.counter(1) <- {:add, 2}"
    assert {200, _, "{\"idle\":true}"} = Peek.post(url <> "step?sponsor=main")
    assert {409, _, error} = Peek.post(url <> "step?sponsor=other")
    assert error =~ "multi_threaded"
    assert {200, _, _} = Peek.post(url <> "resume")
    assert %{"state" => "running"} = Peek.json(url <> "data")
    before = Mote.info(machine).gc.collections
    assert {200, _, _} = Peek.post(url <> "collect")
    assert Mote.info(machine).gc.collections > before
    assert {400, _, _} = Peek.post(url <> "advance?ms=10")
  end

  test "lets time pass where that is asked of it" do
    machine = start_supervised!({Mote, id: :manual, clock: :manual})
    url = Dashboard.url(start_supervised!({Dashboard, machine: machine}))
    assert %{"clock" => "manual"} = Peek.json(url <> "data")
    assert {200, _, _} = Peek.post(url <> "advance?ms=1500")
    assert Mote.now(machine) == 1_500
    assert {400, _, _} = Peek.post(url <> "advance?ms=-1")
    assert {400, _, _} = Peek.post(url <> "advance")
  end

  test "traces turns, from the first to the limit", %{machine: machine, url: url} do
    counter = Mote.create(machine, Actors.counter(0))
    Mote.create(machine, Actors.echo())
    assert %{"on" => false, "run" => 0, "turns" => []} = Peek.json(url <> "trace")
    assert {404, _, _} = Peek.post(url <> "trace/start?sponsor=nobody")
    assert {400, _, _} = Peek.post(url <> "trace/start?limit=0")

    [row] =
      for %{"name" => "Mote.Actors.counter/1"} = row <- Peek.json(url <> "behaviours")["behaviours"], do: row

    assert {200, _, _} = Peek.post(url <> "trace/start?limit=3&behaviour=" <> row["id"])
    assert %{"on" => true, "run" => 1, "about" => "Mote.Actors.counter/1"} = Peek.json(url <> "trace")

    for n <- 1..5, do: Mote.send(counter, {:add, n})

    turns =
      eventually(fn ->
        answer = Peek.json(url <> "trace?run=1&after=1")
        answer["ended"] == "limit" and answer["turns"]
      end)

    assert for(turn <- turns, do: turn["number"]) == [2, 3]
    assert hd(turns)["text"] =~ "Mote.Actors.counter(1) <- {:add, 2}"
    assert %{"captures" => ["15"]} = Peek.json(url <> "actor?id=" <> hd(turns)["actor"])

    assert {200, _, _} = Peek.post(url <> "trace/start?sponsor=other")
    assert %{"on" => true, "run" => 2, "turns" => []} = Peek.json(url <> "trace?run=1&after=3")
    assert {200, _, _} = Peek.post(url <> "trace/stop")
    assert %{"on" => false, "ended" => "stopped"} = Peek.json(url <> "trace?run=2")
  end

  test "goes on when the machine has ended, and shows the next one of its name" do
    name = Mote.DashboardTest.Named
    first = start_supervised!({Mote, name: name, id: :first})
    url = Dashboard.url(start_supervised!({Dashboard, machine: name}))

    assert %{"state" => "running", "name" => "Mote.DashboardTest.Named", "pid" => pid} =
             Peek.json(url <> "data")

    assert pid == inspect(first)
    assert {200, _, _} = Peek.post(url <> "trace/start")
    :ok = stop_supervised(:first)
    assert %{"state" => "stopped", "why" => why} = Peek.json(url <> "data")
    assert why =~ "Mote.DashboardTest.Named"
    assert {409, _, _} = Peek.get(url <> "behaviours")
    assert {409, _, _} = Peek.post(url <> "pause")
    assert eventually(fn -> Peek.json(url <> "trace")["ended"] == "machine" end)
    start_supervised!({Mote, name: name, id: :second})
    assert %{"state" => "running"} = Peek.json(url <> "data")
  end

  test "ends with its owner, and all of it", %{machine: machine} do
    test = self()

    owner =
      spawn(fn ->
        {:ok, dashboard} = Dashboard.start_link(machine)
        send(test, {dashboard, Dashboard.url(dashboard)})
        receive do: (:end -> :ok)
      end)

    assert_receive {dashboard, url}
    {:links, links} = Process.info(dashboard, :links)
    all = for pid <- [dashboard | links], is_pid(pid), pid != owner, do: {pid, Process.monitor(pid)}
    assert length(all) > 3
    # One connection is open and silent.
    socket = Peek.connect(url)
    send(owner, :end)
    for {pid, monitor} <- all, do: assert_receive({:DOWN, ^monitor, :process, ^pid, _})
    assert :gen_tcp.recv(socket, 0, 20_000) == {:error, :closed}
  end

  test "a process that serves and is killed is replaced", %{dashboard: dashboard, url: url} do
    for pid <- :sys.get_state(dashboard).serving do
      monitor = Process.monitor(pid)
      Process.exit(pid, :kill)
      assert_receive {:DOWN, ^monitor, _, _, :killed}
    end

    assert %{"state" => "running"} = Peek.json(url <> "data")
  end

  test "a token and a port of one's own", %{machine: machine} do
    token = "a-token_of-16-or-more"
    {:ok, first} = Dashboard.start_link(machine, token: token, ip: {127, 0, 0, 1})
    assert %{path: "/" <> path, port: port} = URI.parse(Dashboard.url(first))
    assert path == token <> "/"
    Process.flag(:trap_exit, true)

    capture_log(fn ->
      assert {:error, %Mote.Error{reason: :start, message: message}} =
               Dashboard.start_link(machine, port: port)

      assert message =~ "127.0.0.1, port #{port}"
    end)
  end

  test "options that are wrong", %{machine: machine} do
    wrong = [
      {[port: -1], ":port"},
      {[ip: "127.0.0.1"], ":ip"},
      {[token: "short"], ":token"},
      {[token: "with/slashes/in/it/all"], ":token"},
      {[tokens: 1], "unknown key :tokens"},
      {:nothing, "keyword list"}
    ]

    for {opts, text} <- wrong,
        do: assert_raise(ArgumentError, ~r/#{text}/, fn -> Dashboard.start_link(machine, opts) end)

    refute Exception.message(catch_error(Dashboard.start_link(machine, token: "secret"))) =~ "secret"
    assert_raise ArgumentError, ~r/expected a machine: /, fn -> Dashboard.start_link("machine") end
    assert_raise ArgumentError, ~r/got no :machine/, fn -> Dashboard.child_spec(port: 1) end

    assert %{id: :mine, restart: :temporary} =
             Dashboard.child_spec(machine: machine, id: :mine, restart: :temporary)
  end
end
