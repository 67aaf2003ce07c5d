module example.com/packrat/agent

go 1.22
